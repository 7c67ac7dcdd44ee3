const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of its path is a file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  EIO: 'the disk fails',
}

/** Why a file cannot be used, in words for an operator; undefined where the error is not about a file. */
export const fileFault = (error: unknown): string | undefined => reasons[(error as NodeJS.ErrnoException).code ?? '']
