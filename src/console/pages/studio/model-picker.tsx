import { ActionIcon, Group, InputBase, Text } from '@mantine/core';
import { IconArrowsExchange, IconStar, IconStarFilled } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/models.ts';
import type { Draft } from './draft.ts';
import { modelLabel, readFavouriteAndRecentModels, toggleFavouriteModel } from './models.ts';

const ModelGrid = lazy(() => import('./model-grid.tsx'));

interface ModelPickerProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly opened: boolean;
  readonly setOpened: (opened: boolean) => void;
  readonly onChange: (model: UsableModel) => void;
}

/** Button that names the model and opens the grid of all models, next to its favourite toggle. */
export function ModelPicker({ models, draft, opened, setOpened, onChange }: ModelPickerProps) {
  const { t } = useTranslation('studio');
  const [{ favourites }, setMarks] = useState(readFavouriteAndRecentModels);
  const selected = models.find(({ id }) => id === draft.model);
  const starred = favourites.includes(draft.model);
  return (
    <Group gap={6} align="flex-end" wrap="nowrap">
      <InputBase
        component="button"
        type="button"
        pointer
        flex={1}
        miw={0}
        label={t('model')}
        aria-label={selected === undefined ? t('model') : `${t('model')}: ${modelLabel(selected)}`}
        aria-haspopup="dialog"
        aria-keyshortcuts="m"
        rightSection={<IconArrowsExchange size={16} />}
        rightSectionPointerEvents="none"
        onClick={() => setOpened(true)}
      >
        <Text truncate inherit>
          {selected === undefined ? t('modelPlaceholder') : modelLabel(selected)}
        </Text>
      </InputBase>
      <ActionIcon
        size="input-sm"
        data-hint={t(starred ? 'unfavourite' : 'favourite')}
        aria-label={t('favouriteModel')}
        aria-pressed={starred}
        disabled={selected === undefined}
        color={starred ? 'accent' : 'gray'}
        onClick={() => setMarks(toggleFavouriteModel(draft.model))}
      >
        {starred ? <IconStarFilled size={16} /> : <IconStar size={17} />}
      </ActionIcon>
      {opened ? (
        <Suspense>
          <ModelGrid
            title={t('modelPlaceholder')}
            models={models}
            draft={draft}
            selected={[draft.model]}
            onSelect={(model) => {
              onChange(model);
              setOpened(false);
            }}
            onClose={() => setOpened(false)}
          />
        </Suspense>
      ) : null}
    </Group>
  );
}
