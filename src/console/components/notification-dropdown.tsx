import { Popover } from '@mantine/core';
import { cloneElement, type ReactElement } from 'react';
import { useTranslation } from 'react-i18next';
import { useOpenedOnMount } from './lazy-dropdown-button.tsx';
import { NotificationPanel } from './notification-panel.tsx';

/** The latest notifications under the bell. */
export default function NotificationDropdown({ target }: { readonly target: ReactElement<{ onClick?: () => void }> }) {
  const { t } = useTranslation();
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={380} shadow="md" trapFocus returnFocus>
      <Popover.Target>{cloneElement(target, { onClick: () => setOpened(!opened) })}</Popover.Target>
      <Popover.Dropdown p={0} maw="calc(100vw - 24px)" aria-label={t('notifications')}>
        <NotificationPanel onClose={() => setOpened(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}
