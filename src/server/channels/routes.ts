import * as modelEndpoints from '../../contract/admin-models-and-usable-models.ts';
import { ok } from '../../contract/success-bodies-and-pagination.ts';
import type { AuditLog } from '../accounts/audit/audit-log-types.ts';
import type { FindPlanTerms } from '../plans/plan-models-price-factor-and-channels.ts';
import type { Clock } from '../platform/clock.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Vault } from '../platform/vault.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import { addChannelAdminRoutes } from './admin-routes.ts';
import { ChannelAdminService, type UnfinishedTasks } from './channel-admin-service.ts';
import type { ChannelAndModelStore } from './channel-and-model-store.ts';
import type { ProbeDependencies } from './channel-probe.ts';
import type { ChannelSelectionService } from './channel-selection-service.ts';
import { addModelAdminRoutes } from './model-admin-routes.ts';
import { ModelAdminService } from './model-admin-service.ts';
import { addVendorRoutes, toCapability } from './vendor-routes.ts';

export interface ChannelRouteDependencies {
  readonly channels: ChannelSelectionService;
  readonly store: ChannelAndModelStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly vendors: VendorRegistry;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly video: {
    readonly adminStore: UnfinishedTasks;
    readonly upstreamCalls: ProbeDependencies['adapterContexts'];
  };
}

/** Registers the endpoints of channels and models. */
export function addChannelRoutes(routes: RouteRegistry, dependencies: ChannelRouteDependencies): void {
  const { channels, video, vendors } = dependencies;
  const admin = new ChannelAdminService({ ...dependencies, tasks: video.adminStore });
  addModelRoutes(routes, dependencies);
  addVendorRoutes(routes, vendors);
  addChannelAdminRoutes(routes, {
    channels,
    admin,
    vendors,
    tasks: video.adminStore,
    adapterContexts: video.upstreamCalls,
  });
  addModelAdminRoutes(routes, { channels, models: new ModelAdminService(dependencies) });
}

type ModelRouteDependencies = Pick<ChannelRouteDependencies, 'channels' | 'vendors' | 'allowances' | 'findPlanTerms'>;

/** Models for those who use them: what the console draws its forms from. */
function addModelRoutes(
  routes: RouteRegistry,
  { channels, vendors, allowances, findPlanTerms }: ModelRouteDependencies,
): void {
  routes.add(modelEndpoints.listUsableModels, async ({ query, caller }) => {
    const [catalog, permitted, terms] = await Promise.all([
      channels.catalog(),
      allowances.permittedModels(caller.userId),
      findPlanTerms(caller.userId),
    ]);
    const served = terms && new Set((await channels.listModels(terms.channels)).map(({ id }) => id));
    const wanted = catalog.listed.filter(({ kind }) => query.kind === undefined || kind === query.kind);
    return ok(
      wanted.flatMap(({ id }) => {
        const model = catalog.models.get(id);
        if (model === undefined) return [];
        return {
          id,
          kind: model.kind,
          vendor: model.vendor,
          vendor_title: vendors.profile(model.vendor).title,
          price: model.price,
          input_schema: model.inputSchema ?? null,
          capability: toCapability(vendors.capability(model.vendor, model.target)),
          fields: vendors.find(model.vendor)?.formFields ?? {},
          permitted: permitted?.has(id) !== false && served?.has(id) !== false,
        };
      }),
    );
  });
}
