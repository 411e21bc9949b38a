import Type from 'typebox';
import { Capability } from './admin-models-and-usable-models.ts';
import { endpoint } from './endpoint.ts';
import { Kind } from './model-kinds-and-id.ts';
import { Price } from './pricing.ts';
import { Ok } from './success-bodies-and-pagination.ts';

/** Input type of one key of a vendor's credentials in a form; `json`: an object, pasted or read from a file. */
const CredentialField = Type.Object({
  name: Type.String(),
  kind: Type.Enum(['secret', 'text', 'json']),
});

const TextOrNull = Type.Union([Type.String(), Type.Null()]);

/** How long a model can still be used on one of the vendor's routes. */
const Lifecycle = Type.Object({
  route: Type.String({ description: "The vendor's host or product this is said of." }),
  stage: Type.Enum(['active', 'deprecated', 'retired']),
  retires_on: Type.Union([Type.String(), Type.Null()], { description: 'ISO date.' }),
  successor: TextOrNull,
  source: Type.String({ description: 'Where this is said.' }),
  confirmed_on: Type.Union([Type.String(), Type.Null()], {
    description: 'ISO date of what was read; null: no page of the vendor confirms it, and nothing is refused by it.',
  }),
  checked_on: Type.String({ description: 'ISO date on which the table was read through.' }),
});

/** The vendor's public list that an initial price follows. */
const PriceSource = Type.Object({
  source: Type.String({ description: "The vendor's page of prices." }),
  confirmed_on: Type.Union([Type.String(), Type.Null()], {
    description: 'ISO date on which it, or a copy or quotation of it, was last compared; null: none was found.',
  }),
  note: Type.String(),
});

const VendorModel = Type.Object({
  id: Type.String(),
  title: Type.String(),
  kind: Kind,
  price: Type.Union([Price], { description: 'The price a row of this model starts with.' }),
  price_source: Type.Union([PriceSource, Type.Null()], { description: 'Null: it follows no list.' }),
  capability: Type.Union([Capability, Type.Null()], { description: 'Null for models that make no videos.' }),
  lifecycle: Type.Array(Lifecycle, { description: 'Empty: nothing is known to end.' }),
});

export const VendorRow = Type.Object({
  name: Type.String(),
  title: Type.String({ description: 'As shown to people.' }),
  kind: Type.Enum(['video', 'chat'], { description: 'What most of its models make.' }),
  base_url: Type.String({ description: 'Used where a channel names none.' }),
  credentials: Type.Array(Type.Object({ fields: Type.Array(CredentialField) }), {
    description: 'One entry for each set of keys that works; a channel has exactly one of them.',
  }),
  models: Type.Array(VendorModel),
});

export const listVendors = endpoint({
  method: 'GET',
  path: '/api/admin/vendors',
  summary: 'All vendors a channel can be made for: credentials, base URL, models',
  tag: 'channels',
  policy: 'admin',
  envelope: 'api',
  response: Ok(Type.Array(VendorRow)),
});
