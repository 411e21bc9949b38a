import type { AdminClient } from '../admin-client.ts';
import { type ChatService, PRICE, startChat } from './chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

/** The channel's key, which no response may contain. */
export const SCRIPTED_KEY = 'sk-scripted-0123456789abcdef';

/** A service and the scripted upstream of its channel. */
export interface ScriptedChat {
  readonly service: ChatService;
  readonly upstream: ScriptedUpstream;
  readonly channelId: number;
}

/**
 * The whole service with chat models behind one channel to a scripted upstream. The caller stops both.
 * @param models the names callers use
 */
export async function startScriptedChat(
  models: readonly string[],
  { databaseUrl = 'sqlite::memory:', price = PRICE as object, priority = 0, vendor = 'openai' } = {},
): Promise<ScriptedChat> {
  const service = await startChat(databaseUrl);
  const upstream = await startScriptedUpstream();
  const { operator } = service;
  const channelId = await addScriptedModels(operator, upstream, models, { price, priority, vendor });
  return { service, upstream, channelId };
}

/** Adds chat models behind one channel to a scripted upstream; returns the channel's id. */
export async function addScriptedModels(
  operator: Pick<AdminClient, 'requestData' | 'addChannel'>,
  upstream: ScriptedUpstream,
  models: readonly string[],
  {
    price = PRICE,
    priority = 0,
    vendor = 'openai',
    options = {},
  }: {
    readonly price?: object;
    readonly priority?: number;
    readonly vendor?: string;
    readonly options?: object;
  } = {},
): Promise<number> {
  for (const id of models) await operator.requestData('POST', '/api/admin/models', { id, vendor, kind: 'chat', price });
  return operator.addChannel({
    vendor,
    base_url: upstream.url,
    credentials: { api_key: SCRIPTED_KEY },
    models,
    priority,
    options: { private: true, ...options },
  });
}
