import * as endpoints from '../../contract/mailbox.ts';
import { done, ok } from '../../contract/responses.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Mail } from './mail-queue.ts';

/** Registers the administrators' endpoints for outgoing mail. */
export function addMailRoutes(routes: RouteRegistry, { queue, testMail, countWaiting }: Mail): void {
  routes.add(endpoints.getMailState, async () =>
    ok({ enabled: queue.isEnabled, waiting: await countWaiting(), last_error: queue.lastError ?? null }),
  );
  routes.add(endpoints.sendTestMail, async ({ body, request }) => {
    await testMail.send(body.to, request.locale);
    return done();
  });
}
