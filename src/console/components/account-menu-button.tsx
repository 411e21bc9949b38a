import { Group, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { lazy } from 'react';
import { useTranslation } from 'react-i18next';
import { useSelf } from '../data/signed-in-user-and-site-queries.ts';
import { CreditAmount } from './credit-amount.tsx';
import { LazyDropdownButton } from './lazy-dropdown-button.tsx';

const Dropdown = lazy(() => import('./account-menu-dropdown.tsx'));

export function AccountMenuButton() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  const name = self?.display_name || self?.username || '';
  return (
    <LazyDropdownButton
      dropdown={(button) => <Dropdown target={button} />}
      popup="menu"
      button={
        <UnstyledButton p={4} style={{ borderRadius: 8 }}>
          <VisuallyHidden>{t('accountMenu')}</VisuallyHidden>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" fw={600} miw={72} ta="right" visibleFrom="xs">
              {self === undefined ? '' : <CreditAmount value={self.quota} />}
            </Text>
            <span className="initial">{name.slice(0, 1).toUpperCase()}</span>
          </Group>
        </UnstyledButton>
      }
    />
  );
}
