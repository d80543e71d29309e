package proxy

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

type image struct {
	cloudv1.UnimplementedImageServer
	all *Services
}

func (s *Services) image(ctx context.Context) (*gophercloud.ServiceClient, *keystone.Token, error) {
	return s.client(ctx, openstack.NewImageV2)
}

func findImages(ctx context.Context, c *gophercloud.ServiceClient, name string) ([]images.Image, error) {
	pages, err := images.List(c, images.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return images.ExtractImages(pages)
}

func imageID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("image", ref, t, func(name string) ([]candidate, error) {
		list, err := findImages(ctx, c, name)
		var out []candidate
		for _, i := range list {
			out = append(out, candidate{i.ID, i.Owner})
		}
		return out, err
	})
}

func (s *image) GetImage(ctx context.Context, m *cloudv1.GetImageRequest) (*cloudv1.ImageInfo, error) {
	c, t, err := s.all.image(ctx)
	if err != nil {
		return nil, err
	}
	id, err := imageID(ctx, c, t, m.GetImage())
	if err != nil {
		return nil, err
	}
	i, err := images.Get(ctx, c, id).Extract()
	if err != nil {
		return nil, refused("image", m.GetImage(), err)
	}
	return fromImage(i), nil
}

func (s *image) ListImages(ctx context.Context, m *cloudv1.ListImagesRequest) (*cloudv1.ListImagesResponse, error) {
	c, _, err := s.all.image(ctx)
	if err != nil {
		return nil, err
	}
	list, err := findImages(ctx, c, m.GetName())
	if err != nil {
		return nil, refused("images", "", err)
	}
	resp := &cloudv1.ListImagesResponse{}
	for i := range list {
		resp.Images = append(resp.Images, fromImage(&list[i]))
	}
	byName(resp.Images)
	return resp, nil
}

func fromImage(i *images.Image) *cloudv1.ImageInfo {
	return &cloudv1.ImageInfo{
		Id: i.ID, Name: i.Name, Status: string(i.Status), SizeBytes: i.SizeBytes,
		MinDiskGb: int32(i.MinDiskGigabytes), MinRamMb: int32(i.MinRAMMegabytes), Visibility: string(i.Visibility),
	}
}
