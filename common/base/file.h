/*
 * file.h -- how riffle makes a file that it writes: a new one, in nobody else's place.
 *
 * A file is written under another name in the same folder and renamed when it is whole. That other
 * name can be foreseen, so in a folder where others may write it could be a link of theirs: opening
 * it would write into the file that the link names, with our rights. So what is there is removed
 * first (a rest of our own after a crash, or their link, never what it points to), and the file is
 * made new or not at all.
 */
#ifndef COMMON_BASE_FILE_H
#define COMMON_BASE_FILE_H

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * Gives a descriptor (close()) of a new, empty file for reading and writing, closed at exec; 0644
 * by the umask. -1 and errno: EEXIST, another process made one at the same moment.
 */
static inline int
file_create(const char *path)
{
	assert(path != NULL);
	if (unlink(path) != 0 && errno != ENOENT)
		return -1;
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

#endif
