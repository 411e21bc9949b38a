import { type TSchema, Type } from 'typebox';

/** A secret text; `writeOnly` makes forms hide what is typed. */
export const SecretText = Type.String({ minLength: 1, writeOnly: true });

/** Credentials that consist of one API key. */
export const API_KEY_CREDENTIALS = Type.Object({ api_key: SecretText }, { additionalProperties: false });

/** Credentials that consist of an access key and a secret key. */
export const KEY_PAIR_CREDENTIALS = Type.Object(
  { access_key: SecretText, secret_key: SecretText },
  { additionalProperties: false },
);

/** One field of a credential form. */
export interface CredentialField {
  readonly name: string;
  /** `json`: an object, pasted or read from a file. */
  readonly kind: 'secret' | 'text' | 'json';
}

interface Keywords {
  readonly type?: string;
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly anyOf?: readonly TSchema[];
}

/** The fields of a form: one list for each valid set of credentials, in the schema's order. */
export function listCredentialForms(schema: TSchema): readonly (readonly CredentialField[])[] {
  const { anyOf = [schema] } = schema as Keywords;
  return anyOf.map((option) =>
    Object.entries((option as Keywords).properties ?? {}).map(([name, property]) => {
      const { type, writeOnly } = property as Keywords;
      return { name, kind: type === 'object' ? 'json' : writeOnly === true ? 'secret' : 'text' };
    }),
  );
}
