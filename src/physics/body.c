// SPDX-License-Identifier: Apache-2.0
// The bodies as they are described: parts, joints, capsules and what touches the floor. All numbers
// that follow from these are worked out in body_derive.c.

#include "physics/body.h"

#include <string.h>

#include "physics/bodies.h"
#include "physics/sincos.h"

static const mm_body_design *const designs[MM_BODY_COUNT] = {
#define DESIGN(NAME, name, id, kernels) [MM_BODY_##NAME] = &name##_design,
  MM_BODY_LIST(DESIGN)
};

const mm_body_info *mm_body_describe(mm_body body) {
  return &designs[body]->info;
}

const char *mm_body_model_name(mm_body body, mm_flavour flavour) {
  static const char *const names[MM_BODY_COUNT][MM_FLAVOUR_COUNT] = {
#define MODELS(NAME, name, id, kernels) [MM_BODY_##NAME] = { #name "_brax", #name "_gymnasium" },
    MM_BODY_LIST(MODELS)
  };
  return names[body][flavour];
}

// ---------------------------------------------------------------------------------------------
// Pieces of a description

int32_t mm_body_add_part(mm_body_build *b, const char *name, int32_t parent, const double frame[3],
                         const double joint[3]) {
  int32_t i = b->table->n_part++;
  mm_part *part = &b->table->part[i];
  part->name = name;
  part->parent = parent;
  memcpy(b->joint[i], joint, sizeof b->joint[i]);
  for (int k = 0; k < 3 && parent >= 0; k++)
    part->anchor[k] = frame[k] + joint[k] - b->joint[parent][k];
  return i;
}

mm_dof *mm_body_add_dof(mm_body_build *b, const char *name, int32_t part, bool hinge,
                        const double axis[3]) {
  mm_dof *dof = &b->table->dof[b->table->n_dof++];
  *dof = (mm_dof){ .name = name, .part = part, .hinge = hinge };
  memcpy(dof->axis, axis, sizeof dof->axis);
  return dof;
}

void mm_body_limit(mm_dof *dof, double low, double high) {
  dof->limited = true;
  dof->low = low;
  dof->high = high;
}

int32_t mm_body_add_capsule(mm_body_build *b, int32_t part, const double from[3],
                            const double to[3], double radius) {
  int32_t i = b->table->n_capsule++;
  mm_capsule *capsule = &b->table->capsule[i];
  capsule->part = part;
  capsule->radius = radius;
  for (int k = 0; k < 3; k++) {
    capsule->from[k] = from[k] - b->joint[part][k];
    capsule->to[k] = to[k] - b->joint[part][k];
  }
  return i;
}

// ---------------------------------------------------------------------------------------------
// Planar bodies

static void add_joint(mm_body_build *b, const mm_planar_part *p, int32_t part, double axis) {
  mm_dof *dof = mm_body_add_dof(b, p->name, part, true, (const double[3]){ 0, axis, 0 });
  mm_body_limit(dof, p->low, p->high);
  dof->stiffness = p->stiffness;
  dof->damping = p->damping;
  dof->armature = p->armature;
  dof->gear = p->gear;
}

static void add_capsule(mm_body_build *b, const mm_planar_capsule *c, bool all_touch) {
  double s, z;
  mm_sincos_d(c->tilt, &s, &z);
  const double from[3] = { c->x + c->half * s, 0, c->z + c->half * z };
  const double to[3] = { c->x - c->half * s, 0, c->z - c->half * z };
  int32_t i = mm_body_add_capsule(b, c->part, from, to, c->radius);
  b->density[i] = 1000;
  b->friction[i] = c->friction;
  b->touches[i] = all_touch || c->touches;
}

static void build_planar(mm_body_build *b, const mm_planar *p, bool all_touch) {
  mm_body_table *t = b->table;
  t->margin = p->margin;
  t->contact = p->contact;
  t->limit = p->limit;
  b->total_mass = p->total_mass;
  mm_body_add_dof(b, "rootx", 0, false, (const double[3]){ 1, 0, 0 });
  mm_body_add_dof(b, "rootz", 0, false, (const double[3]){ 0, 0, 1 });
  mm_body_add_dof(b, "rooty", 0, true, (const double[3]){ 0, 1, 0 });
  for (int32_t i = 0; i < p->n_part; i++) {
    const mm_planar_part *part = &p->part[i];
    const double frame[3] = { part->frame[0], 0, part->frame[1] };
    const double joint[3] = { part->joint[0], 0, part->joint[1] };
    mm_body_add_part(b, part->name, part->parent, frame, joint);
    if (i > 0) add_joint(b, part, i, p->axis);
  }
  for (int32_t i = 0; i < p->n_capsule; i++)
    add_capsule(b, &p->capsule[i], all_touch);
}

// ---------------------------------------------------------------------------------------------

void mm_body_derive(mm_body body, mm_flavour flavour, mm_body_table *out) {
  const mm_body_design *design = designs[body];
  mm_body_build build = { .table = out };
  bool all_touch = flavour == MM_FLAVOUR_GYMNASIUM;
  *out = (mm_body_table){ .body = body, .flavour = flavour };
  out->height = design->info.height[flavour];
  out->free_root = design->info.free_root;
  if (design->build)
    design->build(&build, all_touch);
  else
    build_planar(&build, &design->planar, all_touch);
  mm_body_weigh(&build);
}
