import type { Endpoint } from '../../contract/endpoint.ts';

/** The reference as Markdown: the same content as the page, for programs. */
export function toReferenceMarkdown(endpoints: readonly Endpoint[], version: string): string {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))].sort();
  const sections = tags.map((tag) => {
    const lines = endpoints.filter((endpoint) => endpoint.tag === tag).map(toLines);
    return `## ${tag}\n\n${lines.join('\n\n')}`;
  });
  return `# Reelgate API reference\n\nVersion ${version}. As OpenAPI 3.1: /openapi.json\n\n${sections.join('\n\n')}\n`;
}

function toLines(endpoint: Endpoint): string {
  const schemas = [
    ['Query', endpoint.query],
    ['Body', endpoint.body],
    ['Response', endpoint.response],
  ] as const;
  return [
    `### ${endpoint.method} ${endpoint.path}`,
    `${endpoint.summary}. Credential: ${endpoint.policy}.`,
    ...schemas
      .filter(([, schema]) => schema !== undefined)
      .map(([name, schema]) => `${name}:\n\`\`\`json\n${JSON.stringify(schema)}\n\`\`\``),
  ].join('\n\n');
}

/** What a language model should read first (llmstxt.org). */
export const toLlmsText = (baseUrl: string): string => `# Reelgate

> A service for video generation over eight vendors through one API, chat relay, device sign-in, mailboxes, plans and notifications.

Model calls take \`Authorization: Bearer sk-…\` and live under ${baseUrl}/v1; OpenAI clients work with that address as base URL.
A video is a task: POST /v1/videos answers an id at once, GET /v1/videos/{id} tells its state (queued, in_progress, completed, failed),
GET /v1/videos/{id}/content is the MP4. Poll every 10 to 15 seconds; send an Idempotency-Key with submits.

## Reference

- [API reference](${baseUrl}/docs.md): every address with its schemas
- [OpenAPI 3.1](${baseUrl}/openapi.json): the same for tools
- [Models](${baseUrl}/v1/models): what this token may call
`;
