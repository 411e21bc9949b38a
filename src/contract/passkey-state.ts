/**
 * Whether a service can have passkeys, and why not: browsers tie them to a host name (`ip`: BASE_URL has an IP address)
 * that is reached by https (`http`: it is not).
 */
export const PASSKEY_STATES = ['on', 'ip', 'http'] as const;
/** Whether a service can have passkeys, and why not. */
export type PasskeyState = (typeof PASSKEY_STATES)[number];

/** The state for a BASE_URL. Browsers also allow http for this machine itself. */
export function passkeyStateOf(baseUrl: string): PasskeyState {
  const { hostname, protocol } = new URL(baseUrl);
  // The URL parser writes every spelling of an IPv4 address as four decimal numbers.
  if (hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname)) return 'ip';
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  return protocol === 'https:' || isLocal ? 'on' : 'http';
}
