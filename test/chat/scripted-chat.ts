import { type ChatService, PRICE, startChat } from './chat-service.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

/** The channel's key, which no response may contain. */
export const SCRIPTED_KEY = 'sk-scripted-0123456789abcdef';

export interface ScriptedChat {
  readonly service: ChatService;
  readonly upstream: ScriptedUpstream;
  readonly channelId: number;
}

/**
 * The whole service with chat models behind one channel to a scripted upstream. The caller stops both.
 *
 * @param models the names callers use
 */
export async function startScriptedChat(
  models: readonly string[],
  { databaseUrl = 'sqlite::memory:', price = PRICE, priority = 0 } = {},
): Promise<ScriptedChat> {
  const service = await startChat(databaseUrl);
  const upstream = await startScriptedUpstream();
  const { operator } = service;
  for (const id of models)
    await operator.requestData('POST', '/api/admin/models', { id, vendor: 'openai', kind: 'chat', price });
  const channelId = await operator.addChannel({
    vendor: 'openai',
    base_url: upstream.url,
    credentials: { api_key: SCRIPTED_KEY },
    models,
    priority,
  });
  return { service, upstream, channelId };
}
