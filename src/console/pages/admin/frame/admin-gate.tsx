import { Outlet } from '@tanstack/react-router';
import { isAdmin, useSelf } from '../../../data/queries.ts';
import { Failure } from '../../../parts/failure.tsx';
import { NotFound } from '../../../parts/not-found.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';

/** Keeps people without the role from pages that could show them nothing; what counts is that the service refuses them. */
export function AdminGate() {
  const self = useSelf();
  if (self.data === undefined)
    return self.error === null ? <PageLoader /> : <Failure error={self.error} retry={() => void self.refetch()} />;
  return isAdmin(self.data.role) ? <Outlet /> : <NotFound />;
}
