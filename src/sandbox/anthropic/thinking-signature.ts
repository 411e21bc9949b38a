import { createHash } from 'node:crypto';

/** The signature of a text the simulated model thought; it accepts no other, as Anthropic does. */
export const signThinking = (thinking: string): string =>
  createHash('sha256').update(`sandbox thinking ${thinking}`).digest('base64');
