import { Compile } from 'typebox/compile';
import { invalidRequest } from '../platform/app-error.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { CredentialValues } from './credential-list-type-and-changes.ts';

const MAX_LENGTH = 16_384;

/** Throws `invalid_request` for keys that are not those of the vendor. */
export function credentialCheck({
  title,
  credentials: schema,
}: ReturnType<VendorRegistry['profile']>): (values: CredentialValues) => void {
  const validator = Compile(schema);
  return (values) => {
    if (JSON.stringify(values).length > MAX_LENGTH) throw invalidRequest('credentials are too long.', 'credentials');
    if (validator.Check(values)) return;
    // Never the library's own words here: they may quote what was sent.
    throw invalidRequest(
      `credentials do not have the keys ${title} needs: ${describeCredentialKeys(schema)}.`,
      'credentials',
    );
  };
}

/** The ways to fill in credentials, such as `{access_key, secret_key} or {api_key}`. */
function describeCredentialKeys(schema: unknown): string {
  const { anyOf, properties } = schema as { readonly anyOf?: readonly unknown[]; readonly properties?: object };
  return anyOf?.map(describeCredentialKeys).join(' or ') ?? `{${Object.keys(properties ?? {}).join(', ')}}`;
}
