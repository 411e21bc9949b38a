/**
 * Replaces TypeBox in the browser bundle. Schemas are checked by the server, and the console only needs the method,
 * path and policy of an endpoint, so one empty object, callable as a function, replaces every schema.
 */
const stub: object = new Proxy(function schema() {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : stub),
  apply: () => stub,
  ownKeys: () => ['prototype'],
});

/** The stub under TypeBox's own name. */
export const Type = stub;
export default stub;
