import { Type } from 'typebox';
import { CouldNotAsk, type Json, type VendorCall, type VideoVendor } from '../vendor.ts';
import { GEMINI_BASE_URL, gemini } from './veo-gemini.ts';
import { VEO_MODELS } from './veo-models.ts';
import { readHandle } from './veo-operation.ts';
import { meterVeo, VEO_METADATA, type VeoRoute } from './veo-request.ts';
import { vertex } from './veo-vertex.ts';

/** A place or a project's id as it stands in addresses; the location is part of a host name. */
const Location = Type.String({ pattern: '^[a-z]{2,20}(?:-[a-z0-9]{1,20}){0,3}$' });
const Project = Type.String({ pattern: '^[a-z0-9][a-z0-9.:-]{1,100}$' });

const Credentials = Type.Union([
  Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  Type.Object(
    {
      // The key file as Google hands it out, so that it can be pasted whole.
      service_account: Type.Object({
        client_email: Type.String({ minLength: 1 }),
        private_key: Type.String({ minLength: 1 }),
        private_key_id: Type.Optional(Type.String()),
        token_uri: Type.Optional(Type.String()),
      }),
      project: Project,
      location: Location,
    },
    { additionalProperties: false },
  ),
]);

/** Which way a channel goes follows from what it was given: a key, or a service account. Handles say it as `route`. */
export const routeOf = (credentials: { readonly [key: string]: unknown }): VeoRoute =>
  credentials.service_account === undefined ? 'gemini' : 'vertex';

const ROUTES = { gemini, vertex };

/** The door a job went through; closed where the channel was given other credentials since. */
function routeOfHandle(handle: Json, call: VendorCall) {
  const { route } = readHandle(handle);
  if (route !== routeOf(call.credentials))
    throw new CouldNotAsk(`the channel has no credentials for its ${route} jobs`);
  return ROUTES[route];
}

/**
 * Google's Veo. One set of models behind two doors that differ in nearly everything but the request: the Gemini API
 * (native) by an API key, Vertex AI (the cloud platform) by a service account. What is under way keeps the door of its handle.
 */
export const veo: VideoVendor = {
  name: 'veo',
  title: 'Google Veo',
  defaultBaseUrl: GEMINI_BASE_URL,
  credentials: Credentials,
  models: VEO_MODELS,
  metadata: VEO_METADATA,
  refreshOnQuery: true,
  meter: meterVeo,
  submit: (request, call) => ROUTES[routeOf(call.credentials)].submit(request, call),
  query: async (handle, call) => routeOfHandle(handle, call).query(handle, call),
  content: async (handle, raw, variant, call) => routeOfHandle(handle, call).content(handle, raw, variant, call),
  probe: (call) => ROUTES[routeOf(call.credentials)].probe(call),
};
