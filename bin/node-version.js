// Plain JavaScript that any Node reads, so that an old one gets a clear line instead of a syntax error.

const OLDEST = [24, 15];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** Whether this Node runs the service. */
export const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);

export const TOO_OLD = `reelgate needs Node ${OLDEST.join('.')} or newer and this is ${process.versions.node}`;
