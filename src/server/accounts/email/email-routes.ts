import * as endpoints from '../../../contract/email-confirmation.ts';
import * as passwordReset from '../../../contract/password-reset.ts';
import { done, ok } from '../../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import { toActor, toRequestOrigin } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Accounts } from '../make.ts';

/** Confirmation of the e-mail address, and new passwords by e-mail. */
export function addEmailRoutes(
  routes: RouteRegistry,
  { emailConfirmations, passwordResets }: Pick<Accounts, 'emailConfirmations' | 'passwordResets'>,
): void {
  routes.add(endpoints.getEmail, async ({ caller }) => {
    const { email, confirmed } = await emailConfirmations.findState(caller.userId);
    return ok({ email, confirmed, can_confirm: emailConfirmations.isRequired });
  });

  routes.add(endpoints.resendConfirmation, async ({ caller, request }) => {
    await emailConfirmations.resend(caller.userId, request.locale);
    return done();
  });

  routes.add(endpoints.confirmEmail, async ({ body, request }) => {
    await emailConfirmations.confirm(body.token, toRequestOrigin(request));
    return done();
  });

  routes.add(passwordReset.requestPasswordReset, async ({ body, request }) => {
    await passwordResets.request(body.email, request.clientIp, request.locale);
    return done();
  });

  routes.add(passwordReset.resetPassword, async ({ body, request }) => {
    await passwordResets.reset(body.token, body.password, toRequestOrigin(request));
    return done();
  });

  routes.add(passwordReset.adminCreateResetLink, async ({ caller, params, request }) => {
    const { url, expiresAt } = await passwordResets.issueLink(Number(params.id), toActor(caller, request));
    return ok({ url, expires_at: toSeconds(expiresAt) });
  });
}
