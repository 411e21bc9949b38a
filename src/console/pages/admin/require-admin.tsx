import { Outlet } from '@tanstack/react-router';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { NotFound } from '../../components/not-found.tsx';
import { PageLoadingIndicator } from '../../components/page-loading-indicator.tsx';
import { isAdmin, useSelf } from '../../data/signed-in-user-and-site-queries.ts';

/** Hides pages from users without the role, which would be empty for them. Access control itself is enforced by the service. */
export function RequireAdmin() {
  const self = useSelf();
  if (self.data === undefined)
    return self.error === null ? (
      <PageLoadingIndicator />
    ) : (
      <ErrorAlert error={self.error} retry={() => void self.refetch()} />
    );
  return isAdmin(self.data.role) ? <Outlet /> : <NotFound />;
}
