import type { changeChannel } from '../../../../contract/channels.ts';
import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ChannelDetail } from '../../../data/admin-types.ts';
import type { CredentialScheme, Vendor } from '../../../data/vendor-queries.ts';

export type Credential = ChannelDetail['credential_list'][number];
export type CredentialListItems = NonNullable<EndpointPart<typeof changeChannel, 'body'>['credential_list']>;

/** The credentials of a channel as they are, to be sent with a change of one of them. */
export const storedCredentialItems = ({ credential_list: list }: ChannelDetail): CredentialListItems =>
  list.map(({ id }) => ({ id }));

/** How people call a credential. */
export const credentialLabel = ({ id, name }: Pick<Credential, 'id' | 'name'>): string =>
  name === '' ? `#${id}` : name;

/** The fields of a credential on file; the vendor's first ones where none fit. */
export const schemeOfKeys = (keys: readonly string[], vendor: Vendor): CredentialScheme =>
  vendor.credentials.find(({ fields }) => keys.every((key) => fields.some(({ name }) => name === key))) ??
  vendor.credentials[0] ?? { fields: [] };

/** What was typed into the fields of a credential. @throws SyntaxError where a pasted object is not valid JSON */
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
