import type { changeChannel } from '../../../../contract/channels.ts';
import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ChannelDetail } from '../../../data/admin.ts';
import type { CredentialScheme, Vendor } from '../../../data/vendors.ts';

type Credentials = Record<string, string>;

/** A line whose number of fields does not match the vendor's scheme. */
export class CredentialLineError extends Error {
  /** 1-based. */
  readonly line: number;
  constructor(line: number) {
    super(`line ${line}`);
    this.line = line;
  }
}

/** Whether credentials of this scheme can be written one per line. */
export const fitsOnLines = ({ fields }: CredentialScheme): boolean =>
  fields.length > 0 && fields.every(({ kind }) => kind !== 'json');

/**
 * Parses credentials pasted one per line and removes duplicates. Fields are separated by `|`, a comma or spaces, in the
 * order of the form.
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

/** A stored credential of a channel, without its keys. */
export type Credential = ChannelDetail['credential_list'][number];
/** Credentials in the body of a channel change. */
export type CredentialListItems = NonNullable<EndpointPart<typeof changeChannel, 'body'>['credential_list']>;

/** The current credentials of a channel, to be sent back when one of them changes. */
export const storedCredentialItems = ({ credential_list: list }: ChannelDetail): CredentialListItems =>
  list.map(({ id }) => ({ id }));

/** Display name of a credential. */
export const credentialLabel = ({ id, name }: Pick<Credential, 'id' | 'name'>): string =>
  name === '' ? `#${id}` : name;

/** Scheme that matches the stored field names; falls back to the vendor's first scheme. */
export const schemeOfKeys = (keys: readonly string[], vendor: Vendor): CredentialScheme =>
  vendor.credentials.find(({ fields }) => keys.every((key) => fields.some(({ name }) => name === key))) ??
  vendor.credentials[0] ?? { fields: [] };

/** Converts the credential fields of a form. @throws SyntaxError if a pasted object is not valid JSON */
export const toCredentials = (
  { fields }: CredentialScheme,
  typed: Readonly<Record<string, string>>,
): Record<string, unknown> =>
  Object.fromEntries(
    fields.map(({ name, kind }) => {
      const text = (typed[name] ?? '').trim();
      return [name, kind === 'json' ? (JSON.parse(text) as unknown) : text];
    }),
  );
