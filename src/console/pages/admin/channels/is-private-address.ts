/** Whether a URL seems to name a host that only a private channel may call, to offer the switch; the server decides. */
export function isPrivateAddress(baseUrl: string): boolean {
  const host = /^https?:\/\/(\[[^\]]*\]|[^/:?#]*)/i.exec(baseUrl.trim())?.[1] ?? '';
  return (
    /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[(::1|f[cd]))|\.(local|lan|internal)$/i.test(host) ||
    (host !== '' && !/[.:]/.test(host)) ||
    /^http:/i.test(baseUrl.trim())
  );
}
