import type { ChildProcess } from 'node:child_process';

const openWithDesktop = async (url: string): Promise<ChildProcess> => (await import('open')).default(url);

/** Whether a browser opened on this machine is visible to the user: not over SSH and not without a display. */
export function hasBrowser(env: NodeJS.ProcessEnv = process.env, platform: string = process.platform): boolean {
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (platform === 'darwin' || platform === 'win32') return true;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/**
 * Tries to open a page; whether it worked is unknown, so the link is always printed too. The URL comes from the service,
 * and the desktop would start a program for a file or another scheme, so only http and https are opened.
 *
 * @param start for tests
 */
export async function openBrowser(
  url: string,
  start: (url: string) => Promise<Pick<ChildProcess, 'on'>> = openWithDesktop,
): Promise<void> {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== 'https:' && protocol !== 'http:') return;
  const child = await start(url).catch(() => undefined);
  child?.on('error', () => {});
}
