/**
 * Environment that child processes inherit from the test: the paths of programs and the compile cache. Without the
 * cache each process strips and compiles all server files again, which costs two seconds of CPU time.
 *
 * Not for `bin/server.js`: it sets V8 flags, which make code compiled without them unusable, and has its own cache.
 */
export const CHILD_PROCESS_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};
