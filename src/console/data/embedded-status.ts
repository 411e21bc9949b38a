import type { EndpointPart } from '../../contract/endpoint.ts';
import type { getStatus } from '../../contract/service.ts';

/** The server's public settings, without the volatile `ready`. */
export type PublicStatus = Omit<EndpointPart<typeof getStatus, 'response'>['data'], 'ready'>;

/**
 * Public settings the server wrote into the page. They contain the user-id header required by every request, so
 * fetching them first would delay all others. Undefined if the development server sent the page.
 */
export const embeddedStatus = readEmbeddedStatus();

function readEmbeddedStatus(): PublicStatus | undefined {
  const content = document.querySelector<HTMLMetaElement>('meta[name=status]')?.content ?? '';
  return content.startsWith('{') ? (JSON.parse(content) as PublicStatus) : undefined;
}
