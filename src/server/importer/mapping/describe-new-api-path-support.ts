/** Paths of the other program, and what serves their clients here. */
const SERVED: readonly (readonly [path: RegExp, here: string])[] = [
  [/^\/v1\/videos?(\/|$)/, 'served here under the same path'],
  [/^\/kling\/v1\/videos\/(text2video|image2video|omni-video)(\/|$)/, 'served here under the same path'],
  [/^\/jimeng\/?$/, 'served here under the same path'],
  [/^\/v1\/(chat\/completions|responses|embeddings|images\/generations|messages)$/, 'served here under the same path'],
  [/^\/v1beta\/models\//, 'served here under the same path'],
  [/^\/pg\//, 'not served: it belongs to the playground there, and the console here has its own'],
  [/^\/(suno|mj|mj-[a-z]+)\//, 'not served: there are no such vendors here'],
];
const UNKNOWN = 'not served here: look for its counterpart in the API reference at /docs';

/** Describes what serves the clients of a path of the other program; starts with `served` where something does. */
export const describeNewApiPathSupport = (path: string): string =>
  SERVED.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN;
