import { Group, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { canManage, type Role } from '../../contract/account-fields.ts';
import { useUsersById } from '../data/admin.ts';
import { useSelf } from '../data/self.ts';

/** Explains that buttons are missing because of permissions; shown in their place. */
export function MissingPermissionNote({ children }: { readonly children: ReactNode }) {
  return (
    <Group gap={8} wrap="nowrap" align="flex-start" c="dimmed">
      <IconLock size={16} style={{ flex: 'none', marginTop: 2 }} aria-hidden />
      <Text size="sm">{children}</Text>
    </Group>
  );
}

/**
 * Whether the administrator may change resources of a given role. The service enforces this; the check only hides
 * actions that would be refused.
 */
export function useCanManageRole(): (role: Role) => boolean {
  const role = useSelf().data?.role;
  return (other) => role === undefined || canManage(role, other);
}

/**
 * As {@link useCanManageRole}, for the ids of users on the screen. Resources of a deleted user may be changed by any
 * administrator.
 */
export function useCanManageUser(ids: readonly number[] | undefined): (id: number) => boolean {
  const users = useUsersById(ids);
  const canManage = useCanManageRole();
  return (id) => {
    const user = users.get(id);
    return user === undefined || canManage(user.role);
  };
}
