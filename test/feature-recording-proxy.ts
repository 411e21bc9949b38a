import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Model call dialects by path. */
const DIALECTS: readonly (readonly [dialect: string, path: RegExp])[] = [
  ['chat completions', /^\/v1\/chat\/completions$/],
  ['Responses', /^\/v1\/responses$/],
  ['Messages', /^\/v1\/messages(\/count_tokens)?$/],
  ['generateContent', /^\/v1(beta)?\/models\/[^/]+:\w+/],
];

/** Features a call may use, and the pattern in its path and body that reveals each. */
const FEATURES: readonly (readonly [feature: string, sign: RegExp])[] = [
  ['streams', /"stream":true|:streamGenerateContent/],
  ['system', /"role":"(?:system|developer)"|"(?:system|instructions|systemInstruction)":/],
  ['tools', /"tools":\[\{/],
  ['tool results', /"role":"tool"|"type":"tool_result"|"function_call_output"|"functionResponse":/],
  ['images', /"image_url"|"input_image"|"type":"image"|"inlineData":/],
  ['structured output', /"json_schema"|"responseJsonSchema":|"responseSchema":/],
  ['thinking', /"thinking":\{|"reasoning":\{|"reasoning_effort":|"thinkingConfig":/],
  ['counting', /\/count_tokens$|:countTokens$/],
];

/** A proxy that records the features clients use. */
export interface RecordingProxy {
  readonly url: string;
  /** Attributes all further calls to this client. */
  begin(client: string): void;
  /** Renders a table of successful calls: models and features by client and dialect. */
  render(): string;
  stop(): Promise<void>;
}

/** Removes indentation, because some clients indent their bodies. */
function compact(body: string): string {
  return body.startsWith('{\n') ? JSON.stringify(JSON.parse(body)) : body;
}

/** Starts a proxy between clients and the service that records their requests and changes nothing. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const seen = new Map<string, { readonly models: Set<string>; readonly features: Set<string> }>();
  let client = '';
  const note = (path: string, body: string): void => {
    const dialect = DIALECTS.find(([, pattern]) => pattern.test(path.split('?', 1)[0] ?? ''))?.[0];
    const model = /models\/([^/:]+):/.exec(path)?.[1] ?? /"model":"([^"]+)"/.exec(body)?.[1];
    if (dialect === undefined || model === undefined) return;
    const key = `${client} | ${dialect}`;
    const row = seen.get(key) ?? { models: new Set(), features: new Set() };
    row.models.add(model);
    for (const [feature, sign] of FEATURES)
      if (sign.test(path.split('?', 1)[0] ?? '') || sign.test(body)) row.features.add(feature);
    seen.set(key, row);
  };
  // Connections to the service are not reused: one that it closes while idle would look like a failure.
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', () => {
      const { url = '/', method, headers } = incoming;
      const body = Buffer.concat(chunks);
      const outgoing = request(new URL(url, target), { method, headers, agent: false }, (answer) => {
        if (answer.statusCode === 200) note(url, compact(body.toString('utf8')));
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      outgoing.once('error', () => response.destroy());
      response.once('close', () => outgoing.destroy());
      outgoing.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin: (name) => {
      client = name;
    },
    render() {
      const rows = [...seen].map(([key, { models, features }]) => {
        const [name = '', dialect = ''] = key.split(' | ');
        const used = FEATURES.map(([feature]) => feature).filter((feature) => features.has(feature));
        return { name, did: `${dialect} | ${[...models].sort().join(', ')} | ${used.join(', ') || 'text'}` };
      });
      const same = Map.groupBy(rows, ({ did }) => did);
      return [...same].map(([did, all]) => `| ${all.map(({ name }) => name).join('; ')} | ${did} |`).join('\n');
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
