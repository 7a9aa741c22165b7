// SPDX-License-Identifier: Apache-2.0
// YAML files against a schema of libcyaml, with errors that name the file.

#ifndef MM_BASE_YAML_H
#define MM_BASE_YAML_H

#include <cyaml/cyaml.h>

#include "mirrormap/base.h"

// Reads a file of at most max_bytes into a new structure of the schema (a mapping by pointer);
// release with mm_yaml_release. Anchors, repeated keys, keys without a field and further documents
// are refused; MM_ERR_INPUT reads "PATH: ...", with the nearest field for an unknown key.
mm_status mm_yaml_load(const char *path, size_t max_bytes, const cyaml_schema_value_t *schema,
                       void **out);

// The same of a text; `source` stands for the path.
mm_status mm_yaml_parse(const char *text, size_t length, const char *source,
                        const cyaml_schema_value_t *schema, void **out);
void mm_yaml_release(const cyaml_schema_value_t *schema, void *data);

#endif
