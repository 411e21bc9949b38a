import Type, { type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { Ok } from './responses.ts';

const root = { tag: 'admin', policy: 'root', envelope: 'api' } as const;

export const SETTING_SOURCES = ['environment', 'database', 'default'] as const;

/** A setting of the site with its value and the source of that value. */
export const SiteSetting = Type.Object({
  name: Type.String({ description: 'Its name, as in the environment where that can set it.' }),
  group: Type.Enum(['site', 'accounts', 'files', 'credits', 'retention', 'phone', 'messaging', 'mail']),
  kind: Type.Enum(['text', 'number', 'choice', 'long-text', 'picture', 'providers']),
  choices: Type.Array(Type.String(), { description: 'For `choice`.' }),
  value: Type.String({ description: 'What is in effect; empty where nothing is set, and for secrets.' }),
  default: Type.String({ description: 'What is in effect where nothing else is set.' }),
  source: Type.Enum([...SETTING_SOURCES], {
    description: 'Where the value comes from; the environment wins over the database.',
  }),
  is_set: Type.Boolean({ description: 'Whether there is a value; for secrets, whose value is not told.' }),
  editable: Type.Boolean({
    description: 'False where the environment gives it, or where it takes effect with a restart only.',
  }),
});
/** A setting of the site with its value and the source of that value. */
export type SiteSetting = Static<typeof SiteSetting>;

export const listSiteSettings = endpoint({
  ...root,
  method: 'GET',
  path: '/api/admin/settings',
  summary: 'The settings of the site with their sources',
  response: Ok(Type.Array(SiteSetting)),
});

/** Characters; holds a logo of 90 KB as a data URL. */
const MAX_VALUE_LENGTH = 128 * 1024;

export const updateSiteSetting = endpoint({
  ...root,
  method: 'PUT',
  path: '/api/admin/settings/:name',
  summary: 'Store a setting, in effect on every process within seconds; null restores the default',
  params: Type.Object({ name: Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' }) }),
  bodyLimit: MAX_VALUE_LENGTH + 1024,
  body: Type.Object({ value: Type.Union([Type.String({ maxLength: MAX_VALUE_LENGTH }), Type.Null()]) }),
  response: Ok(SiteSetting),
});
