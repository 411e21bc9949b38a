/**
 * A random id of 128 bits as 32 hexadecimal digits. Not `crypto.randomUUID`, which browsers only have on https:// and on
 * the user's own machine, and a service may be reached by http:// in a private network.
 */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
