/**
 * Replaces TypeBox in the browser's bundle. The server checks schemas; the console needs only the method, path and policy
 * of an endpoint, so every schema can be this one empty object, which can also be called as a function.
 */
const stub: object = new Proxy(function schema() {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : stub),
  apply: () => stub,
  ownKeys: () => ['prototype'],
});

export const Type = stub;
export default stub;
