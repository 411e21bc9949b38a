import type { EndpointPart } from '../../contract/endpoint.ts';
import type { getStatus } from '../../contract/service.ts';

/** The server's public settings, without what changes from moment to moment. */
export type PublicStatus = Omit<EndpointPart<typeof getStatus, 'response'>['data'], 'ready'>;

/**
 * The public settings as the server wrote them into the page: they name the user-id header of every request, which could not be sent
 * before they were asked for. Undefined where the development server sends the page.
 */
export const embeddedStatus = readEmbeddedStatus();

function readEmbeddedStatus(): PublicStatus | undefined {
  const content = document.querySelector<HTMLMetaElement>('meta[name=status]')?.content ?? '';
  return content.startsWith('{') ? (JSON.parse(content) as PublicStatus) : undefined;
}
