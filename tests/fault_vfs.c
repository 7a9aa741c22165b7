// SPDX-License-Identifier: Apache-2.0
// The wrapper around SQLite's own VFS. For every file it keeps the bytes that are safely on the
// disk and, in order, the changes since then; a synchronisation applies these. So nothing need ever
// be synchronised for real.

#include "fault_vfs.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

enum { FILES = 32, PATH_SIZE = 1024, SECTOR = 512 };

typedef struct change {
  struct change *next;
  sqlite3_int64 offset; // of bytes, or the size to cut to
  int size;             // of bytes; below 0: a truncation
  unsigned char byte[];
} change;

typedef struct disk_file {
  char path[PATH_SIZE]; // "": a free place
  unsigned char *safe;  // [size] as on the disk, NULL for an empty file
  sqlite3_int64 size;
  bool exists;   // its name is on the disk
  bool deleted;  // by us, and the folder not synchronised since
  change *first; // since then
} disk_file;

// As SQLite has it; the real one's memory follows.
typedef struct open_file {
  sqlite3_file base;
  disk_file *disk; // NULL for temporary files
  sqlite3_file *real;
} open_file;

static sqlite3_vfs own, *real_vfs;
static disk_file disk[FILES];
static fault_kind kind;
static size_t every, count;
static bool struck;

// ---------------------------------------------------------------------------------------------
// What is on the disk

static void forget_changes(disk_file *d) {
  for (change *c = d->first, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  d->first = NULL;
}

static void forget_file(disk_file *d) {
  forget_changes(d);
  free(d->safe);
  *d = (disk_file){ .path = "" };
}

static void resize(disk_file *d, sqlite3_int64 size) {
  unsigned char *larger = calloc(1, (size_t)size + 1);
  assert_non_null(larger);
  if (d->safe) memcpy(larger, d->safe, (size_t)(size < d->size ? size : d->size));
  free(d->safe);
  d->safe = larger;
  d->size = size;
}

static void apply_bytes(disk_file *d, sqlite3_int64 offset, const unsigned char *byte, int size) {
  if (offset + size > d->size) resize(d, offset + size);
  memcpy(d->safe + offset, byte, (size_t)size);
}

static void apply(disk_file *d, const change *c) {
  if (c->size >= 0)
    apply_bytes(d, c->offset, c->byte, c->size);
  else if (c->offset < d->size)
    resize(d, c->offset);
}

static void note_change(disk_file *d, sqlite3_int64 offset, const void *byte, int size) {
  change *c = malloc(sizeof *c + (size_t)(size > 0 ? size : 0)), **end = &d->first;
  assert_non_null(c);
  *c = (change){ .offset = offset, .size = size };
  if (size > 0) memcpy(c->byte, byte, (size_t)size);
  while (*end)
    end = &(*end)->next;
  *end = c;
}

static void note_sync(disk_file *d) {
  for (const change *c = d->first; c; c = c->next)
    apply(d, c);
  forget_changes(d);
  d->exists = true;
}

static disk_file *find(const char *path) {
  for (int i = 0; i < FILES; i++)
    if (strcmp(disk[i].path, path) == 0) return &disk[i];
  return NULL;
}

// A file that was there before is as it is; a new one is not on the disk yet.
static disk_file *take_file(const char *path) {
  disk_file *d = find(path);
  if (d && !d->deleted) return d;
  if (d) forget_file(d);
  d = find("");
  assert_non_null(d);
  assert_true(strlen(path) < PATH_SIZE);
  strcpy(d->path, path);
  FILE *file = fopen(path, "rb");
  d->exists = file != NULL;
  if (!file) return d;
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  resize(d, ftell(file));
  rewind(file);
  assert_int_equal(fread(d->safe, 1, (size_t)d->size, file), (size_t)d->size);
  fclose(file);
  return d;
}

// ---------------------------------------------------------------------------------------------
// Faults

// Counts a change; whether it fails.
static bool strike(void) {
  count++;
  bool now = (kind == FAULT_ONCE && count == every) || (kind == FAULT_POWER && count >= every) ||
             (kind == FAULT_EVERY && count % every == 0);
  struck = struck || now;
  return now;
}

static bool is_off(void) {
  return kind == FAULT_POWER && struck;
}

#define REAL(file) (((open_file *)(file))->real)
#define CALL(file, method, ...) REAL(file)->pMethods->method(REAL(file), __VA_ARGS__)

static int write_file(sqlite3_file *file, const void *byte, int size, sqlite3_int64 offset) {
  disk_file *d = ((open_file *)file)->disk;
  if (d && strike()) {
    if (is_off() || size < 2) return SQLITE_IOERR_WRITE;
    if (CALL(file, xWrite, byte, size / 2, offset) == SQLITE_OK)
      note_change(d, offset, byte, size / 2);
    return count % 2 ? SQLITE_IOERR_WRITE : SQLITE_FULL;
  }
  int code = CALL(file, xWrite, byte, size, offset);
  if (d && code == SQLITE_OK) note_change(d, offset, byte, size);
  return code;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size) {
  disk_file *d = ((open_file *)file)->disk;
  if (d && strike()) return SQLITE_IOERR_TRUNCATE;
  int code = CALL(file, xTruncate, size);
  if (d && code == SQLITE_OK) note_change(d, size, NULL, -1);
  return code;
}

static int sync_file(sqlite3_file *file, int flags) {
  (void)flags;
  disk_file *d = ((open_file *)file)->disk;
  if (d && strike()) return SQLITE_IOERR_FSYNC;
  if (d) note_sync(d);
  return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int sync_folder) {
  (void)vfs;
  if (strike()) return SQLITE_IOERR_DELETE;
  int code = real_vfs->xDelete(real_vfs, path, 0);
  disk_file *d = find(path);
  if (d && code == SQLITE_OK && sync_folder)
    forget_file(d);
  else if (d && code == SQLITE_OK)
    d->deleted = true;
  return code;
}

// ---------------------------------------------------------------------------------------------
// The rest goes through

static int close_file(sqlite3_file *file) {
  int code = REAL(file)->pMethods ? REAL(file)->pMethods->xClose(REAL(file)) : SQLITE_OK;
  file->pMethods = NULL;
  return code;
}

static int read_file(sqlite3_file *file, void *byte, int size, sqlite3_int64 offset) {
  return CALL(file, xRead, byte, size, offset);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  return CALL(file, xFileSize, size);
}

static int lock_file(sqlite3_file *file, int level) {
  return CALL(file, xLock, level);
}

static int unlock_file(sqlite3_file *file, int level) {
  return CALL(file, xUnlock, level);
}

static int check_lock(sqlite3_file *file, int *held) {
  return CALL(file, xCheckReservedLock, held);
}

static int control_file(sqlite3_file *file, int what, void *argument) {
  return CALL(file, xFileControl, what, argument);
}

static int sector_size(sqlite3_file *file) {
  (void)file;
  return SECTOR;
}

// A disk that promises nothing about what a write may take with it.
static int characteristics(sqlite3_file *file) {
  (void)file;
  return 0;
}

static int map_shm(sqlite3_file *file, int page, int size, int extend, void volatile **out) {
  return CALL(file, xShmMap, page, size, extend, out);
}

static int lock_shm(sqlite3_file *file, int offset, int n, int flags) {
  return CALL(file, xShmLock, offset, n, flags);
}

static void fence_shm(sqlite3_file *file) {
  REAL(file)->pMethods->xShmBarrier(REAL(file));
}

static int unmap_shm(sqlite3_file *file, int remove) {
  return CALL(file, xShmUnmap, remove);
}

static const sqlite3_io_methods methods = {
  .iVersion = 2,
  .xClose = close_file,
  .xRead = read_file,
  .xWrite = write_file,
  .xTruncate = truncate_file,
  .xSync = sync_file,
  .xFileSize = file_size,
  .xLock = lock_file,
  .xUnlock = unlock_file,
  .xCheckReservedLock = check_lock,
  .xFileControl = control_file,
  .xSectorSize = sector_size,
  .xDeviceCharacteristics = characteristics,
  .xShmMap = map_shm,
  .xShmLock = lock_shm,
  .xShmBarrier = fence_shm,
  .xShmUnmap = unmap_shm,
};

static int open_one(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *given) {
  (void)vfs;
  open_file *f = (open_file *)file;
  bool named = path && !(flags & SQLITE_OPEN_DELETEONCLOSE);
  *f = (open_file){ .real = (sqlite3_file *)(f + 1) };
  if (named && is_off()) return SQLITE_CANTOPEN;
  if (named) f->disk = take_file(path);
  int code = real_vfs->xOpen(real_vfs, path, f->real, flags, given);
  if (code != SQLITE_OK && named && !f->disk->exists) forget_file(f->disk);
  if (code == SQLITE_OK) f->base.pMethods = &methods;
  return code;
}

void fault_vfs_open(void) {
  real_vfs = sqlite3_vfs_find(NULL);
  assert_non_null(real_vfs);
  own = *real_vfs; // everything that is not about one file
  own.zName = "fault";
  own.szOsFile = (int)sizeof(open_file) + real_vfs->szOsFile;
  own.xOpen = open_one;
  own.xDelete = delete_file;
  assert_int_equal(sqlite3_vfs_register(&own, 1), SQLITE_OK);
  fault_vfs_plan(FAULT_NONE, 0);
}

void fault_vfs_close(void) {
  fault_vfs_plan(FAULT_NONE, 0);
  sqlite3_vfs_unregister(&own);
  sqlite3_vfs_register(real_vfs, 1);
}

void fault_vfs_plan(fault_kind k, size_t n) {
  for (int i = 0; i < FILES; i++)
    forget_file(&disk[i]);
  kind = k;
  every = n;
  count = 0;
  struck = false;
}

size_t fault_vfs_count(void) {
  return count;
}

bool fault_vfs_struck(void) {
  return struck;
}

// ---------------------------------------------------------------------------------------------
// After the power has gone

static bool toss(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x >> 40 & 1;
}

static void apply_sectors(disk_file *d, const change *c, uint64_t *chance) {
  for (int at = 0; at < c->size;) {
    int size = SECTOR - (int)((c->offset + at) % SECTOR);
    if (size > c->size - at) size = c->size - at;
    if (toss(chance)) apply_bytes(d, c->offset + at, c->byte + at, size);
    at += size;
  }
}

static void lose(disk_file *d, fault_loss loss, uint64_t *chance) {
  for (const change *c = d->first; c; c = c->next) {
    if (loss == LOSS_SECTORS && c->size > 0)
      apply_sectors(d, c, chance);
    else if (loss == LOSS_NONE || (loss != LOSS_ALL && toss(chance)))
      apply(d, c);
  }
}

static void put_back(const disk_file *d) {
  FILE *file = fopen(d->path, "wb");
  if (!file && errno == ENOENT) return; // the folder is gone: a run that could not be made
  assert_non_null(file);
  if (d->size > 0) assert_int_equal(fwrite(d->safe, 1, (size_t)d->size, file), (size_t)d->size);
  assert_int_equal(fclose(file), 0);
}

void fault_vfs_restart(fault_loss loss, uint64_t seed) {
  uint64_t chance = seed * 2654435769u + 88172645463325252;
  for (int i = 0; i < FILES; i++) {
    disk_file *d = &disk[i];
    if (d->path[0] == '\0') continue;
    bool there = access(d->path, F_OK) == 0;
    bool back =
        d->exists && d->deleted && (loss == LOSS_ALL || (loss != LOSS_NONE && toss(&chance)));
    lose(d, loss, &chance);
    // a name that never got to the disk may be missing
    if (there && !d->exists && (loss == LOSS_ALL || (loss != LOSS_NONE && toss(&chance))))
      unlink(d->path);
    else if ((there && !d->deleted) || back)
      put_back(d);
    // the index of a log is not written at all
    char index[PATH_SIZE + 8];
    strcat(strcpy(index, d->path), "-shm");
    unlink(index);
  }
  fault_vfs_plan(FAULT_NONE, 0);
}
