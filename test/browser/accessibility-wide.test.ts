import { describeAccessibility } from './accessibility-walk.ts';

describeAccessibility({ language: 'en', scheme: 'light', width: 1280, height: 860 });
