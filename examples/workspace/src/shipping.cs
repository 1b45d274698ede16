using System;

namespace Shop
{
    // Prices are in cents.
    public static class Shipping
    {
        public static int Cost(int grams)
        {
            if (grams <= 500)
            {
                return 250;
            }
            return 490;
        }
    }
}
