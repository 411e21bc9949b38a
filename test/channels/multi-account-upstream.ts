import type { ServerResponse } from 'node:http';
import { smallVideo } from '../artifacts/unique-clip.ts';
import { type ScriptedRequest, type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';

/** How an upstream treats a key: it serves it, or responds with this status. */
export type Treatment = 'serve' | 401 | 403 | 429 | 503;

/** A running upstream with several accounts. */
export interface MultiAccountUpstream extends ScriptedUpstream {
  /** Treatment by key; other keys are served. Only submits and chat are refused: existing jobs continue. */
  readonly treatment: Map<string, Treatment>;
  /** `METHOD path key` of every request. */
  readonly seen: string[];
  /** Whether videos are finished. */
  finished: boolean;
}

const CHAT = { choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } };
const ERRORS = {
  401: 'invalid_api_key',
  403: 'insufficient_quota',
  429: 'rate_limit_exceeded',
  503: 'server_error',
} as const;

/**
 * An upstream with several accounts, distinguished by their keys: chat, and videos visible only to the account that
 * created them.
 */
export async function startMultiAccountUpstream(): Promise<MultiAccountUpstream> {
  const scripted = await startScriptedUpstream();
  const owners = new Map<string, string>();
  const upstream: MultiAccountUpstream = { ...scripted, treatment: new Map(), seen: [], finished: false };
  const json = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  scripted.respondWith((response, { path, headers, body }: ScriptedRequest) => {
    const key = (headers.authorization ?? '').replace('Bearer ', '');
    upstream.seen.push(`${path.replace(/^\/v1\//, '').replace(/video_\d+/, 'video')} ${key}`);
    const [, id = '', rest = ''] = /^\/v1\/videos\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    if (id !== '') {
      if (owners.get(id) !== key)
        return json(response, 404, { error: { code: 'not_found', message: 'no such video' } });
      if (rest === 'content') return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(smallVideo(key));
      return json(response, 200, { id, object: 'video', status: upstream.finished ? 'completed' : 'in_progress' });
    }
    const treatment = upstream.treatment.get(key) ?? 'serve';
    if (treatment !== 'serve')
      return json(response, treatment, { error: { code: ERRORS[treatment], message: `${ERRORS[treatment]} ${key}` } });
    if (!path.startsWith('/v1/videos')) return json(response, 200, CHAT);
    const made = `video_${owners.size + 1}`;
    owners.set(made, key);
    return json(response, 200, { id: made, object: 'video', status: 'queued', model: JSON.parse(body).model });
  });
  return upstream;
}
