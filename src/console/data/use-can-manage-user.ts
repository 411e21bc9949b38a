import { canManage, type Role } from '../../contract/account-fields.ts';
import { useSelf } from './signed-in-user-and-site-queries.ts';
import { useUsersById } from './user-and-channel-names.ts';

/** Whether the administrator may change what has a role. The service decides; this only avoids offering what would be refused. */
export function useCanManageRole(): (role: Role) => boolean {
  const role = useSelf().data?.role;
  return (other) => role === undefined || canManage(role, other);
}

/** As {@link useCanManageRole}, by the ids of users on the screen; what belonged to one that is gone, everybody may change. */
export function useCanManageUser(ids: readonly number[] | undefined): (id: number) => boolean {
  const users = useUsersById(ids);
  const canManage = useCanManageRole();
  return (id) => {
    const user = users.get(id);
    return user === undefined || canManage(user.role);
  };
}
