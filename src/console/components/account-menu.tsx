import { Avatar, Group, Menu, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconLogout, IconShieldLock, IconUser } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { logout } from '../../contract/accounts.ts';
import { callApi } from '../data/api-client.ts';
import { queryClient, useSelf } from '../data/query-client.ts';
import { clearDrafts, clearUserId } from '../data/stored-user.ts';
import { CreditAmount } from './credit-amount.tsx';

export function AccountMenu() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  const navigate = useNavigate();
  const signOut = async (): Promise<void> => {
    await callApi(logout, {}).catch(() => undefined);
    clearUserId();
    clearDrafts();
    queryClient.clear();
    await navigate({ to: '/sign-in' });
  };
  const name = self?.display_name || self?.username || '';
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <UnstyledButton p={4} style={{ borderRadius: 8 }}>
          <VisuallyHidden>{t('accountMenu')}</VisuallyHidden>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" fw={600} miw={72} ta="right" visibleFrom="xs">
              {self === undefined ? '' : <CreditAmount value={self.quota} />}
            </Text>
            <Avatar size={30} radius="xl" color="accent" variant="filled">
              {name.slice(0, 1).toUpperCase()}
            </Avatar>
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={600} c="var(--mantine-color-text)" truncate>
            {name}
          </Text>
          {self === undefined ? null : <CreditAmount value={self.quota} size="xs" />}
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item
          leftSection={<IconUser size={16} />}
          renderRoot={(props) => <Link to="/account/profile" {...props} />}
        >
          {t('pages.profile')}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconShieldLock size={16} />}
          renderRoot={(props) => <Link to="/account/security" {...props} />}
        >
          {t('pages.security')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          {t('signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
