import type { Static } from 'typebox';
import type { Capability } from '../../contract/admin-models-and-usable-models.ts';
import { listVendors, type VendorRow } from '../../contract/admin-vendors.ts';
import { ok } from '../../contract/success-bodies-and-pagination.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { ModelCapability, ModelLifecycle, VendorProfile } from '../vendors/adapter-types.ts';
import type { VendorRegistry } from '../vendors/registry.ts';

/** Registers what the administrator's forms need to know of each vendor. */
export function addVendorRoutes(routes: RouteRegistry, vendors: VendorRegistry): void {
  routes.add(listVendors, async () => ok(vendors.profiles.map((profile) => toVendorRow(profile, vendors))));
}

function toVendorRow(profile: VendorProfile, vendors: VendorRegistry): Static<typeof VendorRow> {
  const adapter = vendors.find(profile.name);
  return {
    name: profile.name,
    title: profile.title,
    kind: adapter === undefined ? 'chat' : 'video',
    base_url: profile.defaultBaseUrl,
    credentials: vendors.credentialForms(profile.name).map((fields) => ({ fields: [...fields] })),
    models: [
      ...(adapter?.models ?? []).map((model) => ({
        id: model.id,
        title: model.title,
        kind: 'video' as const,
        price: model.price,
        price_source: {
          source: model.listed.source,
          confirmed_on: model.listed.confirmedOn,
          note: model.listed.note,
        },
        capability: toCapability(model),
        lifecycle: vendors.lifecycles(profile.name, model.id).map(toLifecycle),
      })),
      ...(adapter?.images?.models ?? []).map(({ id, title, perCall }) => ({
        id,
        title,
        kind: 'image' as const,
        price: { per_call: perCall, per_second: 0 },
        price_source: null,
        capability: null,
        lifecycle: vendors.lifecycles(profile.name, id).map(toLifecycle),
      })),
    ],
  };
}

const toLifecycle = ({ route, stage, retiresOn, successor, source, confirmedOn, checkedOn }: ModelLifecycle) => ({
  route,
  stage,
  retires_on: retiresOn ?? null,
  successor: successor ?? null,
  source,
  confirmed_on: confirmedOn,
  checked_on: checkedOn,
});

/** A capability in the contract's words; null for models no adapter describes. */
export function toCapability(capability: ModelCapability | undefined): Static<typeof Capability> | null {
  if (capability === undefined) return null;
  const { title, seconds, sizes, ratios, resolutions, modes, audio, negativePrompt, seed, images } = capability;
  return {
    title,
    seconds,
    sizes: [...sizes],
    ratios: [...ratios],
    resolutions: [...resolutions],
    modes: [...modes],
    audio,
    negative_prompt: negativePrompt,
    seed,
    images: { min: images.min, max: images.max, roles: [...images.roles] },
  };
}
