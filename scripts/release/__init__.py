"""What a release consists of (`make release`): packages, and a stage that can be deployed without a checkout."""
