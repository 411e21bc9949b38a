import { hostname } from 'node:os';

/** The name of this machine as it is shown to the user who confirms a sign-in. */
export const machineName = (): string => `Reelgate CLI on ${hostname()}`;
