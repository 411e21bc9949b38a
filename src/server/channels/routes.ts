import type { Static } from 'typebox';
import * as lines from '../../contract/model-catalog.ts';
import { ok } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Vault } from '../platform/secrets.ts';
import type { Allowances } from '../quota/quota.ts';
import type { ModelCapability } from '../video/vendor.ts';
import type { Vendors } from '../video/vendors.ts';
import { ChannelAdmin, type OpenTasks } from './admin.ts';
import { addChannelAdminRoutes } from './admin-routes.ts';
import { ModelAdmin } from './model-admin.ts';
import { addModelAdminRoutes } from './model-admin-routes.ts';
import type { ProbeParts } from './probes.ts';
import type { ChannelService } from './service.ts';
import type { ChannelStore } from './store.ts';
import { ChannelProfiles } from './upstreams.ts';

export interface ChannelRouteParts {
  readonly channels: ChannelService;
  readonly store: ChannelStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly vendors: Vendors;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly video: { readonly adminStore: OpenTasks; readonly calls: ProbeParts['calls'] };
}

/** Hangs everything there is to ask of channels and models. */
export function addChannelRoutes(routes: Routes, parts: ChannelRouteParts): void {
  const profiles = new ChannelProfiles(parts.vendors);
  const { channels, allowances, video } = parts;
  const admin = new ChannelAdmin({ ...parts, profiles, tasks: video.adminStore });
  addModelRoutes(routes, { channels, profiles, allowances });
  addChannelAdminRoutes(routes, { channels, admin, profiles, tasks: video.adminStore, calls: video.calls });
  addModelAdminRoutes(routes, { channels, models: new ModelAdmin(parts) });
}

interface ModelRouteParts extends Pick<ChannelRouteParts, 'channels' | 'allowances'> {
  readonly profiles: ChannelProfiles;
}

/** Models for those who use them: what the console draws its forms from. */
function addModelRoutes(routes: Routes, { channels, profiles, allowances }: ModelRouteParts): void {
  routes.add(lines.listUsableModels, async ({ query, caller }) => {
    const [catalog, permitted] = await Promise.all([channels.catalog(), allowances.permittedModels(caller.userId)]);
    const wanted = catalog.listed.filter(({ kind }) => query.kind === undefined || kind === query.kind);
    return ok(
      wanted.flatMap(({ id }) => {
        const model = catalog.models.get(id);
        if (model === undefined) return [];
        return {
          id,
          kind: model.kind,
          vendor: model.vendor,
          vendor_title: profiles.of(model.vendor).title,
          price: model.price,
          input_schema: model.inputSchema ?? null,
          capability: toCapability(profiles.capability(model.vendor, model.target)),
          permitted: permitted === undefined || permitted.has(id),
        };
      }),
    );
  });
}

function toCapability(capability: ModelCapability | undefined): Static<typeof lines.Capability> | null {
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
