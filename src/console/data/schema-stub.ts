/**
 * Stands for TypeBox in the browser's bundle. Schemas are checked by the server; the console needs of a line of the contract
 * its method, path and policy, so that every schema may be this one empty object, which also answers as a function.
 */
const nothing: object = new Proxy(function schema() {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : nothing),
  apply: () => nothing,
  ownKeys: () => ['prototype'],
});

export const Type = nothing;
export default nothing;
