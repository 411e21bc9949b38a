import type { CredentialScheme } from '../../../data/vendor-queries.ts';

type Credentials = Record<string, string>;

/** A line that does not have the fields a vendor needs. */
export class CredentialLineError extends Error {
  /** Counted from 1. */
  readonly line: number;
  constructor(line: number) {
    super(`line ${line}`);
    this.line = line;
  }
}

/** Whether sets of these credentials can be written one per line. */
export const fitsOnLines = ({ fields }: CredentialScheme): boolean =>
  fields.length > 0 && fields.every(({ kind }) => kind !== 'json');

/**
 * Credentials pasted one per line, each once; the fields of one are separated by `|`, a comma or spaces, in the order of the form.
 *
 * @throws CredentialLineError
 */
export function parseCredentialLines(text: string, { fields }: CredentialScheme): Credentials[] {
  const found = new Map<string, Credentials>();
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim();
    if (trimmed === '') continue;
    const parts = fields.length === 1 ? [trimmed] : trimmed.split(/[|,;\s]+/);
    if (parts.length !== fields.length || /\s/.test(parts.join(''))) throw new CredentialLineError(index + 1);
    const credentials = Object.fromEntries(fields.map(({ name }, place) => [name, parts[place] ?? '']));
    found.set(JSON.stringify(credentials), credentials);
  }
  return [...found.values()];
}
