import { smallVideo } from '../artifacts/unique-clip.ts';
import { type ScriptedRequest, type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';

/** An upstream in OpenAI's video format that counts the unfinished videos of each of its accounts by their keys. */
export interface SoraUpstream extends ScriptedUpstream {
  /** Videos started by an account. */
  begun(key: string): number;
  /** Maximum number of concurrent unfinished videos of an account. */
  mostUnfinished(key: string): number;
  /** True: a video ends with its first query; false: none ends. */
  finishes: boolean;
  /** Called with each submit's body before the response; it returns the status of a refusal. */
  beforeSubmit: (body: string) => Promise<number | undefined>;
}

interface Account {
  begun: number;
  most: number;
  readonly unfinished: Set<string>;
}

/** Starts the upstream on a free loopback port. */
export async function startSoraUpstream(): Promise<SoraUpstream> {
  const scripted = await startScriptedUpstream();
  const accounts = new Map<string, Account>();
  const accountOf = (key: string): Account => {
    const known = accounts.get(key) ?? { begun: 0, most: 0, unfinished: new Set<string>() };
    accounts.set(key, known);
    return known;
  };
  const upstream: SoraUpstream = {
    ...scripted,
    begun: (key) => accountOf(key).begun,
    mostUnfinished: (key) => accountOf(key).most,
    finishes: false,
    beforeSubmit: async () => undefined,
  };
  const submit = async (key: string, body: string): Promise<{ status: number; body: object }> => {
    const status = await upstream.beforeSubmit(body);
    if (status !== undefined) return { status, body: { error: { message: 'refused', type: 'server_error' } } };
    const account = accountOf(key);
    const id = `video_${key}_${account.begun++}`;
    account.unfinished.add(id);
    account.most = Math.max(account.most, account.unfinished.size);
    return { status: 200, body: toVideo(id, 'queued') };
  };
  const answer = async ({ path, headers, body }: ScriptedRequest): Promise<{ status: number; body: object }> => {
    const key = (headers.authorization ?? '').replace('Bearer ', '');
    const [, id] = /^\/v1\/videos\/([^/]+)$/.exec(path) ?? [];
    if (id === undefined) return submit(key, body);
    const { unfinished } = accountOf(key);
    if (upstream.finishes) unfinished.delete(id);
    return { status: 200, body: toVideo(id, unfinished.has(id) ? 'in_progress' : 'completed') };
  };
  scripted.respondWith(async (response, request) => {
    if (request.path.endsWith('/content')) {
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(smallVideo('a boat'));
      return;
    }
    const { status, body } = await answer(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return upstream;
}

const toVideo = (id: string, status: 'queued' | 'in_progress' | 'completed') => ({
  id,
  object: 'video',
  model: 'sora-2',
  status,
  progress: status === 'completed' ? 100 : 5,
  created_at: 1_795_140_000,
  seconds: '4',
  size: '720x1280',
});
