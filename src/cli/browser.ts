import open from 'open';

/** Whether a browser on this machine would be in front of whoever types here. */
export function hasBrowser(env: NodeJS.ProcessEnv = process.env, platform: string = process.platform): boolean {
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (platform === 'darwin' || platform === 'win32') return true;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/** Tries; whether it worked nobody can tell, so the link is always shown too. */
export async function openBrowser(address: string): Promise<void> {
  const child = await open(address).catch(() => undefined);
  child?.on('error', () => {});
}
