import { Button } from '@mantine/core';
import { IconBookmark } from '@tabler/icons-react';
import { lazy } from 'react';
import { useTranslation } from 'react-i18next';
import { LazyDropdownButton } from '../lazy-dropdown-button.tsx';
import type { ListFilters } from './use-list-filters.ts';

const SavedViewsMenu = lazy(() => import('./saved-views-menu.tsx'));

/** Opens the saved views of a list. */
export function SavedViewsButton({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('list');
  return (
    <LazyDropdownButton
      popup="dialog"
      button={
        <Button variant="default" leftSection={<IconBookmark size={16} />}>
          {t('views.title')}
        </Button>
      }
      dropdown={(button) => <SavedViewsMenu filters={filters} button={button} />}
    />
  );
}
