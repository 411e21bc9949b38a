/** Whether a URL names a loopback or private address, to offer the switch that allows one; the server decides. */
export function isPrivateAddress(baseUrl: string): boolean {
  const host = /^https?:\/\/(\[[^\]]*\]|[^/:?#]*)/i.exec(baseUrl.trim())?.[1] ?? '';
  return /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[(::1|f[cd]))/i.test(host);
}
