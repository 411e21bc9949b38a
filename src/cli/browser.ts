import open from 'open';

/** Whether a browser on this machine would be in front of whoever types here. */
export function hasBrowser(env: NodeJS.ProcessEnv = process.env, platform: string = process.platform): boolean {
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (platform === 'darwin' || platform === 'win32') return true;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/**
 * Tries; whether it worked nobody can tell, so the link is always shown too. A service names the address, and the desktop
 * would start a program for a file or for a scheme of its own, so only pages are opened.
 *
 * @param start for tests
 */
export async function openBrowser(address: string, start: typeof open = open): Promise<void> {
  const { protocol } = URL.parse(address) ?? {};
  if (protocol !== 'https:' && protocol !== 'http:') return;
  const child = await start(address).catch(() => undefined);
  child?.on('error', () => {});
}
