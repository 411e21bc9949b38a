import type { Static } from 'typebox';
import * as endpoints from '../../contract/channels.ts';
import { operationsOf } from '../../contract/generation-ways.ts';
import type { Locale } from '../../contract/messages/locales.ts';
import { PRICE_NOTES_ZH_CN } from '../../contract/messages/prices-zh-cn.ts';
import * as modelEndpoints from '../../contract/models.ts';
import { type Capability, listVendors, type VendorRow } from '../../contract/models.ts';
import { done, list, ok, parseSort, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import type { Clock } from '../platform/clock.ts';
import { type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import type { Vault } from '../platform/vault.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { ModelCapability, ModelLifecycle, VendorProfile } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import {
  ChannelAdminService,
  type ChannelView,
  type CredentialView,
  type ProbeDependencies,
  probeChannel,
  type UnfinishedCount,
  type UnfinishedTasks,
} from './channel-admin.ts';
import type { CredentialHealth } from './channel-health.ts';
import { CHANNEL_PRESETS, modelListOf, type Preset } from './channel-presets.ts';
import { type Catalog, type CatalogStore, type ModelRow, maxConcurrentTasks } from './directory.ts';
import { ModelAdminService } from './model-admin.ts';
import type { ChannelSelectionService } from './selection.ts';

interface ChannelRouteDependencies {
  readonly channels: ChannelSelectionService;
  readonly store: CatalogStore;
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

/** Registers the model endpoints for users; the console builds its forms from them. */
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
          prompt_names: vendors.find(model.vendor)?.promptName !== undefined,
          permitted: permitted?.has(id) !== false && served?.has(id) !== false,
        };
      }),
    );
  });
}

interface ChannelAdminRouteDependencies extends Omit<ProbeDependencies, 'channels'> {
  readonly channels: ChannelSelectionService;
  readonly admin: ChannelAdminService;
  readonly tasks: Pick<UnfinishedTasks, 'unfinished'>;
}

/** Registers the channel endpoints for administrators. */
function addChannelAdminRoutes(routes: RouteRegistry, dependencies: ChannelAdminRouteDependencies): void {
  const { channels, admin, tasks } = dependencies;
  const toRows = async (views: readonly ChannelView[]) => {
    const [catalog, unfinished] = await Promise.all([channels.catalog(), tasks.unfinished()]);
    return views.map((view) => {
      const open = unfinished.filter(({ channelId }) => channelId === view.id);
      return toRow(view, catalog, open, {
        state: HEALTH[channels.stateOf(view.id)],
        condition: channels.conditionOf(view.id),
        credentials: channels.credentialHealth(view.id),
      });
    });
  };

  routes.add(endpoints.listChannels, async ({ query }) => {
    const { vendor, model, enabled } = query;
    const { rows, total } = await admin.list(
      { vendor, model, enabled: enabled === undefined ? undefined : enabled === 'true' },
      toPage(query),
      parseSort(query.sort),
    );
    return list(await toRows(rows), total);
  });

  routes.add(endpoints.makeChannel, async ({ body, caller, request }) =>
    ok({ id: await admin.create(toActor(caller, request), caller.role, body) }),
  );

  routes.add(endpoints.getChannel, async ({ params }) => {
    const id = Number(params.id);
    const [row] = await toRows([await admin.get(id)]);
    const { health, errors } = await channels.condition(id);
    return ok({
      ...(row as Static<typeof endpoints.ChannelRow>),
      health: health.map(({ model, state, reason, failureRate, openUntil }) => ({
        model,
        state: HEALTH[state],
        reason,
        failure_rate: Math.round(failureRate * 1000) / 1000,
        rests_until: toSeconds(openUntil),
      })),
      last_errors: errors.map(({ credential_id, model, reason, code, message, created_at }) => ({
        credential_id,
        model,
        reason,
        code,
        message,
        time: toSeconds(created_at),
      })),
    });
  });

  routes.add(endpoints.changeChannel, async ({ params, body, caller, request }) => {
    await admin.update(toActor(caller, request), caller.role, Number(params.id), body);
    return done();
  });

  routes.add(endpoints.removeChannel, async ({ params, caller, request }) => {
    await admin.remove(toActor(caller, request), Number(params.id));
    return done();
  });

  addChannelTest(routes, dependencies);
}

function addChannelTest(routes: RouteRegistry, dependencies: ChannelAdminRouteDependencies): void {
  routes.add(endpoints.testChannel, async ({ params, query }) => {
    const credentialId = query.credential_id === undefined ? undefined : Number(query.credential_id);
    const report = await probeChannel(dependencies, Number(params.id), credentialId);
    const suggested = report.ok ? await dependencies.admin.suggestModels(Number(params.id), report.models) : [];
    const { ok: works, durationMs, reason, code, message, models, missing, ending } = report;
    return ok({
      ok: works,
      duration_ms: durationMs,
      reason,
      code,
      message,
      models: [...models],
      missing_models: [...missing],
      ending_models: ending.map(({ model, retiresOn, successor, confirmedOn }) => ({
        model,
        retires_on: retiresOn,
        successor: successor ?? null,
        confirmed: confirmedOn !== null,
      })),
      suggested_models: suggested.map((model) => ({ ...model })),
    });
  });

  routes.add(endpoints.addChannelModels, async ({ params, body, caller, request }) =>
    ok(await dependencies.admin.addModels(toActor(caller, request), caller.role, Number(params.id), body.ids)),
  );

  routes.add(endpoints.listChannelPresets, async () => ok(CHANNEL_PRESETS.map(toPresetRow)));
}

const toPresetRow = (preset: Preset): Static<typeof endpoints.ChannelPreset> => ({
  id: preset.id,
  title: preset.title,
  title_zh: preset.titleZh ?? preset.title,
  dialect: preset.dialect,
  base_url: preset.baseUrl,
  key_page: preset.keyPage,
  model_list: modelListOf(preset),
  options: { ...preset.options },
  deviations: preset.deviations.map((text) => ({ ...text })),
});

/** The contract's names for the states of a circuit. */
const HEALTH = { closed: 'healthy', open: 'resting', halfOpen: 'trying' } as const;

type CredentialRow = Static<typeof endpoints.ChannelRow>['credential_list'][number];

/** @param health undefined: nothing is known yet */
function toCredentialRow(
  { id, name, hint, keys, enabled }: CredentialView,
  health: CredentialHealth | undefined,
): Omit<CredentialRow, 'unfinished_tasks'> {
  const worst = health?.views.find(({ state }) => state === health.state && state !== 'closed');
  return {
    id,
    name,
    hint,
    keys: [...keys],
    enabled,
    state: HEALTH[health?.state ?? 'closed'],
    condition: health?.condition ?? 'untested',
    reason: worst?.reason ?? '',
    rests_until: toSeconds(worst?.openUntil ?? 0),
  };
}

function toRow(
  view: ChannelView,
  catalog: Catalog,
  unfinished: readonly UnfinishedCount[],
  {
    credentials: health,
    ...best
  }: Pick<Static<typeof endpoints.ChannelRow>, 'state' | 'condition'> & {
    readonly credentials: readonly CredentialHealth[];
  },
): Static<typeof endpoints.ChannelRow> {
  const total = (counts: readonly UnfinishedCount[]): number => counts.reduce((sum, { count }) => sum + count, 0);
  return {
    id: view.id,
    name: view.name,
    vendor: view.vendor,
    base_url: view.baseUrl,
    model_mapping: view.modelMapping ?? {},
    extra_header_names: [...view.extraHeaderNames],
    proxy: view.proxy ?? '',
    credential_keys: [...(view.credentials[0]?.keys ?? [])],
    credential_list: view.credentials.map((credential) => ({
      ...toCredentialRow(
        credential,
        health.find(({ credentialId }) => credentialId === credential.id),
      ),
      unfinished_tasks: total(unfinished.filter(({ credentialId }) => credentialId === credential.id)),
    })),
    models: [...view.models],
    unserved_models: view.models.filter((model) => catalog.models.get(model)?.vendor !== view.vendor),
    priority: view.priority,
    weight: view.weight,
    enabled: view.enabled,
    max_concurrent_tasks: maxConcurrentTasks(view.options) ?? null,
    options: view.options,
    ...best,
    unfinished_tasks: total(unfinished),
    created_time: toSeconds(view.createdAt),
    updated_time: toSeconds(view.updatedAt),
  };
}

/** Registers the model and price endpoints for administrators. */
function addModelAdminRoutes(
  routes: RouteRegistry,
  { models, channels }: { readonly models: ModelAdminService; readonly channels: ChannelSelectionService },
): void {
  routes.add(modelEndpoints.listModelRows, async ({ query }) => {
    const { vendor, kind, q } = query;
    const { rows, total } = await models.list({ vendor, kind, nameContains: q }, toPage(query), parseSort(query.sort));
    const catalog = await channels.catalog();
    return list(
      rows.map((row) => toModelRow(row, catalog)),
      total,
    );
  });

  routes.add(modelEndpoints.adminCreateModel, async ({ body, caller, request }) =>
    ok({ id: await models.create(toActor(caller, request), body) }),
  );

  routes.add(modelEndpoints.getModelRow, async ({ params }) =>
    ok(toModelRow(await models.get(decodeModelId(params)), await channels.catalog())),
  );

  routes.add(modelEndpoints.adminUpdateModel, async ({ params, body, caller, request }) => {
    await models.update(toActor(caller, request), decodeModelId(params), body);
    return done();
  });

  routes.add(modelEndpoints.adminDeleteModel, async ({ params, caller, request }) => {
    await models.remove(toActor(caller, request), decodeModelId(params));
    return done();
  });
}

/** The console sends the slash of a name as `~`, because some proxies refuse an encoded one. */
const decodeModelId = ({ id }: { readonly id: string }): string => id.replaceAll('~', '/');

function toModelRow(row: ModelRow, catalog: Catalog): Static<typeof modelEndpoints.ModelRow> {
  const resolved = catalog.models.get(row.id);
  return {
    id: row.id,
    vendor: row.vendor,
    kind: row.kind,
    price: row.price === null ? null : JSON.parse(row.price),
    alias_of: row.alias_of,
    input_schema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    on_retirement: row.on_retirement,
    enabled: row.enabled === 1,
    channels: resolved === undefined ? 0 : catalog.serving(resolved).length,
    created_time: toSeconds(row.created_at),
    updated_time: toSeconds(row.updated_at),
  };
}

/** Registers the endpoint with the facts about each vendor that the administrator's forms need. */
function addVendorRoutes(routes: RouteRegistry, vendors: VendorRegistry): void {
  routes.add(listVendors, async ({ request }) =>
    ok(vendors.profiles.map((profile) => toVendorRow(profile, vendors, request.locale))),
  );
}

function toVendorRow(profile: VendorProfile, vendors: VendorRegistry, locale: Locale): Static<typeof VendorRow> {
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
          note: (locale === 'zh-CN' ? PRICE_NOTES_ZH_CN[model.listed.note] : undefined) ?? model.listed.note,
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

/** A capability in the contract's form; null for models no adapter describes. */
function toCapability(capability: ModelCapability | undefined): Static<typeof Capability> | null {
  if (capability === undefined) return null;
  const { title, seconds, sizes, ratios, resolutions, modes, audio, negativePrompt, seed, images, ways } = capability;
  return {
    title,
    seconds,
    sizes: [...sizes],
    ratios: [...ratios],
    resolutions: [...resolutions],
    modes: [...modes],
    audio,
    negative_prompt: negativePrompt,
    operations: operationsOf(ways),
    ways,
    seed,
    images: { min: images.min, max: images.max, roles: [...images.roles] },
  };
}
